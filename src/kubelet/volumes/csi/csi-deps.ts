import type { CSIDriver } from '../../../api/generated/core-v1.ts';
import { CsiDriverNotFoundError, type CsiDrivers } from '../../../plugins/csi/csi-drivers.ts';
import type { ApiServer } from '../../api-client/api-server.ts';
import { CsiUses } from './csi-uses.ts';

/** The CSIDriver objects: how the cluster uses its drivers. */
export interface CsiDriverLookup {
  /** `undefined`: there is none, and the defaults apply. Rejects while it is unknown whether there is one. */
  find(name: string, signal: AbortSignal): Promise<CSIDriver | undefined>;
}

/** What CSI volumes need. */
export interface CsiDeps {
  readonly drivers: CsiDrivers;
  readonly driverObjects: CsiDriverLookup;
  /** For VolumeAttachments, and Secrets of any namespace. Absent: a standalone node, which attaches nothing. */
  readonly api?: Pick<ApiServer, 'get' | 'patch'> | undefined;
  readonly nodeName: string;
  readonly uses: CsiUses;
}

/** A node without drivers. */
export function noCsi(nodeName = ''): CsiDeps {
  return {
    drivers: {
      driver(name) {
        throw new CsiDriverNotFoundError(name);
      },
      subscribe: () => () => undefined,
    },
    driverObjects: { find: async () => undefined },
    nodeName,
    uses: new CsiUses(),
  };
}
