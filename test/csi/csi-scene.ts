import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Event, Node, Pod } from '../../src/api/generated/core-v1.ts';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { podOn } from '../integration/cluster-fixture.ts';
import { until } from '../integration/until.ts';
import type { ApiObject, ApiObjects } from './api-objects.ts';
import { type CsiCall, volumeCalls, withoutRepetitions } from './csi-calls.ts';
import type { ClaimPlan, DriverPlan, PodPlan } from './csi-plans.ts';
import { type CsiProxy, startCsiProxy } from './csi-proxy.ts';
import { attachmentName, DrawnValues, inlineHandle, sha256 } from './drawn-values.ts';
import { type HostpathDriver, startHostpathDriver } from './hostpath-driver.ts';
import { type TreeEntry, treeAt } from './node-tree.ts';

/** The node under test. */
export interface CsiNode {
  readonly name: string;
  readonly api: ApiObjects;
  /** The root directory of its agent. */
  readonly rootDir: string;
  /** For drivers; with a short path, as it holds sockets. */
  readonly folder: string;
}

/** What an agent did up to a moment. */
export interface RecordedStep {
  readonly step: string;
  /** The calls to the driver since the previous step; equal calls in a row count once. */
  readonly calls: readonly CsiCall[];
  /** The agent's files of the driver's volumes. */
  readonly files: readonly TreeEntry[];
  /** The content of the volumes, by name. */
  readonly volumes: Readonly<Record<string, readonly TreeEntry[]>>;
  /** Those of the driver in the node's status. */
  readonly volumesInUse: readonly string[];
  /** The claim's status, where it matters. */
  readonly claim?: unknown;
}

export interface Recording {
  readonly steps: readonly RecordedStep[];
  /** By pod: type, reason and message, sorted. */
  readonly events: Readonly<Record<string, readonly string[]>>;
}

/** A CSI driver of its own, its volumes and the pods that use them, on a node under test. */
export class CsiScene {
  readonly api: ApiObjects;
  readonly driverName: string;
  readonly driver: HostpathDriver;
  readonly drawn = new DrawnValues();
  readonly #node: CsiNode;
  readonly #name: string;
  readonly #repeatsUnpublish: boolean;
  readonly #handles = new Map<string, string>();
  readonly #uids = new Map<string, string>();
  readonly #steps: RecordedStep[] = [];
  readonly #undo = new AsyncDisposableStack();
  #proxy: CsiProxy | undefined;
  #callsSeen = 0;

  private constructor(node: CsiNode, name: string, driver: HostpathDriver, repeatsUnpublish: boolean) {
    this.#node = node;
    this.#name = name;
    this.#repeatsUnpublish = repeatsUnpublish;
    this.api = node.api;
    this.driverName = driverName(name);
    this.driver = driver;
    this.drawn.set(node.rootDir, 'root');
    this.#undo.defer(() => driver.stop());
  }

  static async start(node: CsiNode, name: string, plan: DriverPlan = {}): Promise<CsiScene> {
    const { spec = {}, flags = [], late = false } = plan;
    const metadata = { name: driverName(name) };
    const defaults = { attachRequired: false, podInfoOnMount: false };
    await node.api.create('csidrivers', { metadata, spec: { ...defaults, ...spec } });
    const folder = join(node.folder, name);
    const driver = await startHostpathDriver({ name: metadata.name, nodeName: node.name, folder, flags });
    const scene = new CsiScene(node, name, driver, plan.repeatsUnpublish ?? false);
    if (!late) await scene.register().catch((error) => scene.stop().then(() => Promise.reject(error)));
    return scene;
  }

  /** All calls of the agent so far. */
  get calls(): readonly CsiCall[] {
    return this.#proxy?.calls ?? [];
  }

  /** Resolves when the agent has accepted the driver. */
  async register(): Promise<void> {
    const registry = join(this.#node.rootDir, 'plugins_registry');
    mkdirSync(registry, { recursive: true });
    const proxy = await startCsiProxy({
      driverName: this.driverName,
      driverSocket: this.driver.socketPath,
      socketPath: join(this.#node.folder, this.#name, 'proxy.sock'),
      registrationPath: join(registry, `${this.#name}.sock`),
      repeatsUnpublish: this.#repeatsUnpublish,
    });
    this.#proxy = proxy;
    this.#undo.defer(() => proxy.stop());
    await until(() => proxy.registrations.some(({ pluginRegistered }) => pluginRegistered));
  }

  /** Creates a volume with a PersistentVolume, and a claim of the same name that is bound to it. Returns its handle. */
  async claim(name: string, plan: ClaimPlan = {}): Promise<string> {
    const { pv = {}, csi = {}, claim = {}, block = false } = plan;
    const handle = plan.handle ?? (await this.driver.createVolume(`${this.#name}-${name}`, { block }));
    this.#nameHandle(handle, name);
    if (plan.handle === undefined) {
      this.#handles.set(name, handle);
      this.#undo.defer(() => this.driver.deleteVolume(handle));
    }
    const both = { accessModes: ['ReadWriteOnce'], volumeMode: block ? 'Block' : 'Filesystem' };
    const full = `${this.#name}-${name}`;
    const storage = '10Mi';
    const { metadata } = await this.api.create('persistentvolumeclaims', {
      metadata: { name: full },
      spec: { ...both, storageClassName: '', volumeName: full, resources: { requests: { storage } }, ...claim },
    });
    const claimRef = { kind: 'PersistentVolumeClaim', namespace: 'default', name: full, uid: metadata.uid };
    await this.api.create('persistentvolumes', {
      metadata: { name: full },
      spec: {
        ...both,
        capacity: { storage },
        claimRef,
        csi: { driver: this.driverName, volumeHandle: handle, ...csi },
        ...pv,
      },
    });
    const status = { phase: 'Bound', accessModes: both.accessModes, capacity: { storage } };
    await this.api.patch('persistentvolumeclaims', full, { status }, 'status');
    await this.api.patch('persistentvolumes', full, { status: { phase: 'Bound' } }, 'status');
    return handle;
  }

  /** The name of the objects that `claim` has created. */
  fullName(claim: string): string {
    return `${this.#name}-${claim}`;
  }

  /** A volume of a pod with the claim. */
  volumeOf(claim: string, change: object = {}): object {
    return { name: claim, persistentVolumeClaim: { claimName: this.fullName(claim), ...change } };
  }

  /** Creates a pod whose only container sleeps. */
  async create(pod: string, { spec = {}, container = {} }: PodPlan): Promise<void> {
    const main = { name: 'main', image: BUSYBOX_IMAGE, command: ['sleep', '1000'], ...container };
    const how = { terminationGracePeriodSeconds: 0, automountServiceAccountToken: false, dnsPolicy: 'Default' };
    const created = (await this.api.create(
      'pods',
      podOn(this.#node.name, this.podName(pod), { ...how, containers: [main], ...spec }),
    )) as ApiObject & Pod;
    const inline = created.spec.volumes?.flatMap(({ name, csi }) => (csi ? [name] : []));
    this.drawn.set(created.metadata.uid, `uid of ${pod}`);
    for (const volume of inline ?? []) this.#nameHandle(inlineHandle(created.metadata.uid, volume), `${pod}/${volume}`);
    this.#uids.set(pod, created.metadata.uid);
  }

  podName(pod: string): string {
    return `${this.#name}-${pod}`;
  }

  async ready(pod: string): Promise<void> {
    await until(async () => {
      const found = await this.api.get<ApiObject & Pod>('pods', this.podName(pod));
      return found?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
    });
  }

  async start(pod: string, plan: PodPlan): Promise<void> {
    await this.create(pod, plan);
    await this.ready(pod);
  }

  /** Resolves when the pod and its directory are gone. */
  async remove(pod: string): Promise<void> {
    await this.api.remove('pods', this.podName(pod));
    const directory = join(this.#node.rootDir, 'pods', this.#uids.get(pod) ?? '');
    await until(async () => !(await this.api.get('pods', this.podName(pod))));
    await until(() => !existsSync(directory));
  }

  /** Makes the agent look at the pod again. */
  async touch(pod: string): Promise<void> {
    await this.api.patch('pods', this.podName(pod), { metadata: { annotations: { touched: 'yes' } } });
  }

  /** Resolves when the driver has been called that many times since the last step. */
  async called(method: string, times = 1): Promise<void> {
    await until(() => this.#newCalls().filter((call) => call.method === method).length >= times);
  }

  async hasEvent(pod: string, reason: string): Promise<void> {
    await until(async () => (await this.#eventsOf(pod)).some((event) => event.reason === reason));
  }

  async node(): Promise<ApiObject & Node> {
    const found = await this.api.get<ApiObject & Node>('nodes', this.#node.name);
    if (!found) throw new Error(`there is no node ${this.#node.name}`);
    return found;
  }

  /** Records what happened since the previous step, once the node's status is newer than it. */
  async step(step: string, claim?: string): Promise<void> {
    await this.#nodeReports();
    const calls = volumeCalls(this.#newCalls());
    this.#callsSeen = this.calls.length;
    const { status } = await this.node();
    const inUse = (status?.volumesInUse ?? []).filter((name) => name.includes(this.driverName));
    const found = claim && (await this.api.get('persistentvolumeclaims', this.fullName(claim)))?.status;
    const volumes = [...this.#handles].map(([name, handle]) => [name, treeAt(this.driver.volumePath(handle), '.')]);
    const recorded: RecordedStep = {
      step,
      calls: withoutRepetitions(this.drawn.replaceIn(calls)),
      files: this.#files(),
      volumes: Object.fromEntries(volumes),
      volumesInUse: inUse.sort(byCodePoint),
      ...(found ? { claim: found } : {}),
    };
    this.#steps.push(this.drawn.replaceIn(recorded));
  }

  /** What has been recorded. */
  async recording(): Promise<Recording> {
    const events: Record<string, readonly string[]> = {};
    for (const pod of this.#uids.keys()) {
      const texts = (await this.#eventsOf(pod)).map(({ type, reason, message }) => `${type} ${reason} ${message}`);
      events[pod] = [...new Set(this.drawn.replaceIn(texts))].sort(byCodePoint);
    }
    return { steps: this.#steps, events };
  }

  /** Deletes the driver's volumes and stops it. */
  stop(): Promise<void> {
    return this.#undo.disposeAsync();
  }

  #nameHandle(handle: string, name: string): void {
    this.drawn.set(handle, `handle of ${name}`);
    this.drawn.set(sha256(handle), `hash of the handle of ${name}`); // in the path of a staged volume
    this.drawn.set(attachmentName(handle, this.driverName, this.#node.name), `attachment of ${name}`);
  }

  #newCalls(): readonly CsiCall[] {
    return this.calls.slice(this.#callsSeen);
  }

  #files(): readonly TreeEntry[] {
    const { rootDir } = this.#node;
    const csi = 'plugins/kubernetes.io/csi';
    const ofPods = [...this.#uids.values()].flatMap((uid) =>
      ['volumes/kubernetes.io~csi', 'volumeDevices', 'volume-subpaths'].map((name) => `pods/${uid}/${name}`),
    );
    const ofBlock = [...this.#handles.keys()].flatMap((name) =>
      ['volumeDevices', 'volumeDevices/staging', 'volumeDevices/publish'].map(
        (place) => `${csi}/${place}/${this.fullName(name)}`,
      ),
    );
    return [`${csi}/${this.driverName}`, ...ofBlock, ...ofPods].flatMap((path) => treeAt(rootDir, path));
  }

  #eventsOf(pod: string): Promise<readonly Event[]> {
    return this.api.list<Event>('events', `fieldSelector=involvedObject.uid%3D${this.#uids.get(pod)}`);
  }

  /** The agent reports volumes in use with its next status; the one under way may be older. */
  async #nodeReports(): Promise<void> {
    const heartbeat = async () => {
      const { status } = await this.node();
      return status?.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;
    };
    for (let count = 0; count < 2; count++) {
      const before = await heartbeat();
      await until(async () => (await heartbeat()) !== before);
    }
  }
}

function driverName(scene: string): string {
  return `${scene}.csi.test`;
}
