import type { HookDeps } from '../kubelet/hooks/run-hook.ts';
import { currentSandbox } from '../kubelet/pod/observed-pod.ts';
import { execInContainer } from '../kubelet/probes/exec-in-container.ts';
import type { AgentParts } from './agent.ts';
import type { Senses } from './agent-senses.ts';

/** What hooks need of the rest of the agent. */
export function hookInputs(
  { host, cri, settings }: AgentParts,
  { events, observed }: Pick<Senses, 'events' | 'observed'>,
): HookDeps {
  const { clock, network } = host;
  const podIP = (uid: string): string | undefined => {
    const sandbox = currentSandbox(observed.get(uid));
    return sandbox?.hostNetwork ? settings.hostIPs[0] : sandbox?.ips[0];
  };
  return { clock, network, events, podIP, exec: execInContainer(cri.runtime) };
}
