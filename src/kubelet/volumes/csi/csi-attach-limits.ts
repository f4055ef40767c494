import { errorText } from '../../../base/error-text.ts';
import type { Log } from '../../../base/log.ts';
import type { ApiServer } from '../../api-client/api-server.ts';
import type { AttachLimits } from '../attach-limits.ts';
import { attachmentName, CSI_PLUGIN, volumeOfId } from './csi-volume.ts';

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
    if (!id.startsWith(`${CSI_PLUGIN}/`) || !id.includes('^')) return false;
    const { driver, handle } = volumeOfId(id);
    try {
      const { spec } = await api.get({ resource: 'csidrivers', namespace: '', name: driver }, signal);
      if (!spec.nodeAllocatableUpdatePeriodSeconds) return false;
      const name = attachmentName(handle, driver, nodeName);
      const { status } = await api.get({ resource: 'volumeattachments', namespace: '', name }, signal);
      return status?.attachError?.errorCode === RESOURCE_EXHAUSTED;
    } catch (error) {
      signal.throwIfAborted();
      log.warn('cannot find out why a volume is not attached', { volume: id, error: errorText(error) });
      return false;
    }
  }
}
