import type { RuntimeService } from '../../cri/services.ts';

/** kubelet's message while the runtime's network is not ready; `undefined` when it is. */
export async function networkNotReadyReason(runtime: RuntimeService, signal: AbortSignal): Promise<string | undefined> {
  const { status } = await runtime.status({ verbose: false }, signal);
  const condition = status?.conditions.find(({ type }) => type === 'NetworkReady');
  if (condition?.status) return undefined;
  const { reason = '', message = '' } = condition ?? {};
  const found = condition ? `NetworkReady=false reason:${reason} message:${message}` : 'NetworkReady is not set';
  return `container runtime network not ready: ${found}`;
}
