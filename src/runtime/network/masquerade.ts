import { DEFAULT_PATH } from '../../base/default-path.ts';
import type { Processes } from '../../host/processes.ts';
import { type DefaultBridge, type MasqueradeRule, masqueradeRules } from './default-bridge.ts';

type Runner = Pick<Processes, 'run'>;
type Bridge = Pick<DefaultBridge, 'bridge' | 'podCidrs'>;

/** Masquerades the traffic of the default bridge. Idempotent; the rule outlives the process, as the bridge does. */
export async function ensureMasquerade(processes: Runner, bridge: Bridge, signal: AbortSignal): Promise<void> {
  for (const rule of masqueradeRules(bridge)) {
    if ((await iptables(processes, '-C', rule, signal)).exitCode === 0) continue;
    const { exitCode, stderr } = await iptables(processes, '-A', rule, signal);
    if (exitCode === 0) continue;
    throw new Error(`cannot masquerade ${bridge.podCidrs.join(', ')}: ${stderr}`);
  }
}

/** A missing rule is not an error. */
export async function removeMasquerade(processes: Runner, bridge: Bridge, signal: AbortSignal): Promise<void> {
  for (const rule of masqueradeRules(bridge)) await iptables(processes, '-D', rule, signal);
}

async function iptables(processes: Runner, verb: string, { program, rule }: MasqueradeRule, signal: AbortSignal) {
  const args = ['--wait', '--table', 'nat', verb, ...rule];
  const { exitCode, stderr } = await processes.run({ program, args, env: { PATH: DEFAULT_PATH } }, signal);
  return { exitCode, stderr: new TextDecoder().decode(stderr).trim() };
}
