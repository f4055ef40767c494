import type { IntOrString, LifecycleHandler } from '../../api/generated/core-v1.ts';

/** A handler that nobody can run (TCP, or none at all) as Go prints it. */
export function formatHandler({ tcpSocket }: LifecycleHandler): string {
  const socket = tcpSocket && `&TCPSocketAction{Port:${formatPort(tcpSocket.port)},Host:${tcpSocket.host ?? ''},}`;
  return `&LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:${socket ?? 'nil'},Sleep:nil,}`;
}

/** Its kind (0: a number, 1: a text), the number, the text. */
function formatPort(port: IntOrString): string {
  return typeof port === 'number' ? `{0 ${port} }` : `{1 0 ${port}}`;
}
