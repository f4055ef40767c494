import { withApiTimeouts } from '../kubelet/api-client/api-timeouts.ts';
import type { CsiDeps } from '../kubelet/volumes/csi/csi-deps.ts';
import { CsiUses } from '../kubelet/volumes/csi/csi-uses.ts';
import type { AgentParts } from './agent.ts';
import type { AgentPlugins } from './build-plugins.ts';
import type { PodSignals } from './pod-signals.ts';

/** What CSI volumes need. A pod that waits for a driver is woken when it registers. */
export function buildCsi(
  { apiServer, host, settings, node }: AgentParts,
  { csiDrivers, csiDriverObjects }: Pick<AgentPlugins, 'csiDrivers' | 'csiDriverObjects'>,
  signals: PodSignals,
): CsiDeps {
  const { clock, random } = host;
  const uses = new CsiUses();
  csiDrivers.subscribe((name) => {
    for (const uid of uses.takeWaiting(name)) signals.podObjectChanged.raise(uid);
  });
  return {
    drivers: csiDrivers,
    driverObjects: csiDriverObjects,
    ...(apiServer && { api: withApiTimeouts(apiServer, { clock, random }) }),
    nodeName: settings.nodeName,
    controllerAttaches: node?.controllerAttaches,
    uses,
  };
}
