import { createHash } from 'node:crypto';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { ApiServer } from '../api-client/api-server.ts';

/** Why a volume that is not attached does not become attached. */
export interface AttachLimits {
  /** Whether the node has no room for another volume of this driver. `id` is kubelet's unique volume name. */
  isExceeded(id: string, signal: AbortSignal): Promise<boolean>;
}

/** Without an API server nothing is attached. */
export const NO_ATTACH_LIMITS: AttachLimits = { isExceeded: async () => false };

const CSI_PREFIX = 'kubernetes.io/csi/';
/** The gRPC code that a driver returns for a node without room. */
const RESOURCE_EXHAUSTED = 8;

export interface CsiAttachLimitsDeps {
  readonly api: Pick<ApiServer, 'get'>;
  readonly nodeName: string;
  readonly log: Log;
}

/**
 * The limits of CSI drivers, by the errors of their VolumeAttachments. Only drivers that report the limits of a node more
 * than once have them (`nodeAllocatableUpdatePeriodSeconds`): the scheduler avoids the node afterwards.
 */
export class CsiAttachLimits implements AttachLimits {
  readonly #deps: CsiAttachLimitsDeps;

  constructor(deps: CsiAttachLimitsDeps) {
    this.#deps = deps;
  }

  async isExceeded(id: string, signal: AbortSignal): Promise<boolean> {
    const { api, nodeName, log } = this.#deps;
    const [driver = '', ...rest] = id.slice(CSI_PREFIX.length).split('^');
    if (!id.startsWith(CSI_PREFIX) || rest.length === 0) return false;
    try {
      const { spec } = await api.get({ resource: 'csidrivers', namespace: '', name: driver }, signal);
      if (!spec.nodeAllocatableUpdatePeriodSeconds) return false;
      const name = attachmentName(rest.join('^'), driver, nodeName);
      const { status } = await api.get({ resource: 'volumeattachments', namespace: '', name }, signal);
      return status?.attachError?.errorCode === RESOURCE_EXHAUSTED;
    } catch (error) {
      signal.throwIfAborted();
      log.warn('cannot find out why a volume is not attached', { volume: id, error: errorText(error) });
      return false;
    }
  }
}

function attachmentName(handle: string, driver: string, nodeName: string): string {
  return `csi-${createHash('sha256').update(`${handle}${driver}${nodeName}`).digest('hex')}`;
}
