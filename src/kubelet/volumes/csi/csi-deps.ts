import { CsiDriverNotFoundError, type CsiDrivers } from '../../../plugins/csi/csi-drivers.ts';
import type { ApiServer } from '../../api-client/api-server.ts';
import { type CsiDriverObjects, NO_CSI_DRIVER_OBJECTS } from '../../csi-node/csi-driver-objects.ts';
import type { VolumePluginDeps } from '../volume-plugin.ts';
import { CsiUses } from './csi-uses.ts';

/** What CSI volumes need. */
export interface CsiDeps {
  readonly drivers: CsiDrivers;
  readonly driverObjects: Pick<CsiDriverObjects, 'find'>;
  /** For VolumeAttachments, and Secrets of any namespace. Absent: a standalone node, which attaches nothing. */
  readonly api?: Pick<ApiServer, 'get' | 'patch'> | undefined;
  readonly nodeName: string;
  /** kubelet's `enableControllerAttachDetach`; absent: it is on. Kubernetes has no attaching of CSI volumes by the node. */
  readonly controllerAttaches?: boolean | undefined;
  readonly uses: CsiUses;
}

/** What the functions of this plugin get. */
export interface CsiPluginDeps extends VolumePluginDeps {
  readonly csi: CsiDeps;
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
    driverObjects: NO_CSI_DRIVER_OBJECTS,
    nodeName,
    uses: new CsiUses(),
  };
}
