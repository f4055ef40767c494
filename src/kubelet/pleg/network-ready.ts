import type { RuntimeService } from '../../cri/services.ts';

/** Why the runtime's network cannot take pods now, in kubelet's words; `undefined` when it can. */
export async function networkNotReadyReason(runtime: RuntimeService, signal: AbortSignal): Promise<string | undefined> {
  const { status } = await runtime.status({ verbose: false }, signal);
  const condition = status?.conditions.find(({ type }) => type === 'NetworkReady');
  if (condition?.status) return undefined;
  const { reason = '', message = '' } = condition ?? {};
  const found = condition ? `NetworkReady=false reason:${reason} message:${message}` : 'NetworkReady is not set';
  return `container runtime network not ready: ${found}`;
}
