import type { CSINode, Node } from '../../api/generated/core-v1.ts';
import { abortable } from '../../base/abortable.ts';
import { errorText } from '../../base/error-text.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import type { CsiNodeInfo } from '../../plugins/csi/csi-node-info.ts';
import type { CsiNodeRecord } from '../../plugins/csi/csi-registration.ts';
import type { ApiServer, ObjectKey } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';
import { nodeKey } from '../node/node-cache.ts';
import type { StorageReadiness } from '../node/storage-readiness.ts';
import {
  attachLimitError,
  type NodeMetadataPatch,
  newCsiNode,
  nodePatchForDriver,
  nodePatchWithoutDriver,
  otherOwner,
  withDriver,
  withMigratedPlugins,
  withoutDriver,
} from './csi-node-changes.ts';
import { retrySteps } from './retry-steps.ts';

/** kubelet's retries of one change. */
const UPDATE_STEPS = { steps: 4, firstMs: 10, factor: 5, jitter: 0.1 };
/** kubelet's delays between attempts to initialize the object. kubelet exits after the last one; this stays there. */
const INIT_DELAYS_MS = [30, 240, 1_920, 15_360];

export interface CsiNodeObjectDeps {
  readonly nodeName: string;
  readonly api: Pick<ApiServer, 'get' | 'create' | 'update' | 'delete' | 'patch'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Maintains the CSINode object of this node, and the labels and annotations of the Node that come from CSI drivers. The
 * node is not ready before the object exists, as with kubelet.
 *
 * One change at a time, each on the object as the API server has it.
 */
export class CsiNodeObject implements CsiNodeRecord, StorageReadiness {
  readonly #deps: CsiNodeObjectDeps;
  readonly #key: ObjectKey<'csinodes'>;
  readonly #initialized = Promise.withResolvers<void>();
  readonly #listeners = new Set<() => void>();
  readonly #mutex = new KeyedMutex();
  #notReadyReason: string | undefined = 'CSINode is not yet initialized';
  #nodeUid = '';

  constructor(deps: CsiNodeObjectDeps) {
    this.#deps = deps;
    this.#key = { resource: 'csinodes', namespace: '', name: deps.nodeName };
  }

  notReadyReason(): string | undefined {
    return this.#notReadyReason;
  }

  subscribe(listener: () => void): () => void {
    const each = (): void => listener();
    this.#listeners.add(each);
    return () => void this.#listeners.delete(each);
  }

  /** Creates or adopts the object once the API server knows the node. Tries until it succeeds. */
  async initialize(nodeKnown: Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    if (this.#notReadyReason === undefined) return;
    await abortable(nodeKnown, signal);
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#change('error updating CSINode annotation', () => this.#tryInitialize(signal), signal);
        this.#setReason(undefined);
        return this.#initialized.resolve();
      } catch (error) {
        signal.throwIfAborted();
        log.warn('cannot initialize the CSINode object, retrying', { error });
        this.#setReason(`failed to initialize CSINode: ${errorText(error)}`);
      }
      await clock.sleep(INIT_DELAYS_MS[attempt] ?? INIT_DELAYS_MS.at(-1) ?? 0, signal);
    }
  }

  async install(driverName: string, info: CsiNodeInfo, signal: AbortSignal): Promise<void> {
    if (info.nodeId === '') throw new Error('error adding CSI driver node info: driverNodeID must not be empty');
    await abortable(this.#initialized.promise, signal);
    const tryNode = (): Promise<void> => this.#patchNode((node) => nodePatchForDriver(node, driverName, info), signal);
    await this.#change('error updating Node object with CSI driver node info: error updating node', tryNode, signal);
    await this.update(driverName, info, signal);
  }

  /** Writes what has changed about an installed driver; the Node object stays as it is. */
  async update(driverName: string, info: CsiNodeInfo, signal: AbortSignal): Promise<void> {
    const limitError = attachLimitError(info);
    if (limitError) this.#deps.log.warn(limitError, { driver: driverName, limit: String(info.maxVolumes) });
    const tryUpdate = (): Promise<void> => this.#tryInstall(driverName, info, signal);
    await this.#change(
      'error updating CSINode object with CSI driver node info: error updating CSINode',
      tryUpdate,
      signal,
    );
  }

  async uninstall(driverName: string, signal: AbortSignal): Promise<void> {
    const tryUninstall = (): Promise<void> => this.#tryUninstall(driverName, signal);
    await this.#change(
      'error uninstalling CSI driver from CSINode object error updating CSINode',
      tryUninstall,
      signal,
    );
    const tryNode = (): Promise<void> => this.#patchNode((node) => nodePatchWithoutDriver(node, driverName), signal);
    await this.#change('error removing CSI driver node info from Node object error updating node', tryNode, signal);
  }

  /** Retries `attempt`; adds kubelet's text to its error. */
  async #change(text: string, attempt: () => Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await retrySteps(UPDATE_STEPS, () => this.#mutex.run('', attempt), this.#deps, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(`${text}: ${errorText(error)}`, { cause: error });
    }
  }

  async #tryInitialize(signal: AbortSignal): Promise<void> {
    const { api } = this.#deps;
    await this.#getNode(signal);
    const before = await this.#find(signal);
    if (!before) return void (await this.#create(signal));
    await this.#requireOwnership(before, signal);
    const after = withMigratedPlugins(before);
    if (after !== before) await api.update(this.#key, after, signal);
  }

  async #tryInstall(driverName: string, info: CsiNodeInfo, signal: AbortSignal): Promise<void> {
    const before = (await this.#find(signal)) ?? (await this.#create(signal));
    await this.#requireOwnership(before, signal);
    const after = withDriver(before, driverName, info);
    if (after !== before) await this.#deps.api.update(this.#key, after, signal);
  }

  async #tryUninstall(driverName: string, signal: AbortSignal): Promise<void> {
    const before = await this.#find(signal);
    if (!before) return;
    const after = withoutDriver(before, driverName);
    if (after !== before) await this.#deps.api.update(this.#key, after, signal);
  }

  async #patchNode(patchOf: (node: Node) => NodeMetadataPatch | undefined, signal: AbortSignal): Promise<void> {
    const node = await this.#getNode(signal);
    const metadata = patchOf(node);
    if (metadata === undefined) return;
    const { uid } = node.metadata;
    const patch = { metadata: { ...metadata, ...(uid && { uid }) } };
    await this.#deps.api.patch(nodeKey(this.#deps.nodeName), patch, { subresource: 'status' }, signal);
  }

  async #getNode(signal: AbortSignal): Promise<Node> {
    const node = await this.#deps.api.get(nodeKey(this.#deps.nodeName), signal);
    this.#nodeUid = node.metadata.uid ?? '';
    return node;
  }

  async #find(signal: AbortSignal): Promise<CSINode | undefined> {
    try {
      return await this.#deps.api.get(this.#key, signal);
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  #create(signal: AbortSignal): Promise<CSINode> {
    return this.#deps.api.create(this.#key, newCsiNode(this.#deps.nodeName, this.#nodeUid), signal);
  }

  /** Deletes the object of an earlier node of the same name, and throws: the next attempt creates a new one. */
  async #requireOwnership(csiNode: CSINode, signal: AbortSignal): Promise<void> {
    const { nodeName, api, log } = this.#deps;
    const oldNodeId = otherOwner(csiNode, nodeName, this.#nodeUid);
    if (oldNodeId === undefined) return;
    log.info('existing CSINode is owned by different node, cleaning up', { oldNodeId, newNodeId: this.#nodeUid });
    const { uid } = csiNode.metadata;
    await api.delete(this.#key, uid === undefined ? {} : { uid }, signal).catch((error: unknown) => {
      throw new Error(`error deleting existing CSINode "${nodeName}": ${errorText(error)}`, { cause: error });
    });
    throw new Error(
      `CSINode "${nodeName}" was owned by different node (oldNodeID="${oldNodeId}", newNodeID="${this.#nodeUid}"), deleted it`,
    );
  }

  #setReason(reason: string | undefined): void {
    if (reason === this.#notReadyReason) return;
    this.#notReadyReason = reason;
    for (const listener of [...this.#listeners]) listener();
  }
}
