import type { IntOrString, LifecycleHandler } from '../../api/generated/core-v1.ts';

/** Formats a handler that cannot be run (TCP, or none at all) as Go prints it. */
export function formatHandler({ tcpSocket }: LifecycleHandler): string {
  const socket = tcpSocket && `&TCPSocketAction{Port:${formatPort(tcpSocket.port)},Host:${tcpSocket.host ?? ''},}`;
  return `&LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:${socket ?? 'nil'},Sleep:nil,}`;
}

/** Go's `IntOrString`: its kind (0: number, 1: string), the number, the string. */
function formatPort(port: IntOrString): string {
  return typeof port === 'number' ? `{0 ${port} }` : `{1 0 ${port}}`;
}
