import { type Network, NetworkError } from '../../host/network.ts';
import type { ExecConnection } from './exec-connection.ts';
import { execOverSpdy, spdyUpgrade } from './exec-over-spdy.ts';
import { execOverWebSocket } from './exec-over-web-socket.ts';
import { EXEC_PROTOCOL } from './exec-protocol.ts';

export interface ExecRequest {
  /** `keys` of a terminal have no end; the end of `bytes` is passed to the command. */
  readonly input: 'none' | 'keys' | 'bytes';
  readonly tty: boolean;
}

/**
 * Starts the command of `address` over WebSocket, or over SPDY where the runtime's WebSocket protocol cannot end standard
 * input (containerd before 2.0 has no v5). An address serves one attempt, so each attempt requests its own.
 */
export async function connectExec(
  network: Pick<Network, 'webSocket' | 'upgrade'>,
  address: () => Promise<string>,
  { input, tty }: ExecRequest,
  signal: AbortSignal,
): Promise<ExecConnection> {
  const protocols = input === 'bytes' ? [EXEC_PROTOCOL.v5] : [EXEC_PROTOCOL.v5, EXEC_PROTOCOL.v4];
  try {
    return execOverWebSocket(await network.webSocket({ ...requestTarget(await address()), protocols }, signal));
  } catch (error) {
    if (!(error instanceof NetworkError) || error.code !== 'EPROTO') throw error;
  }
  const upgraded = await network.upgrade(spdyUpgrade(requestTarget(await address())), signal);
  return execOverSpdy(upgraded, { stdin: input !== 'none', tty }, signal);
}

function requestTarget(url: string): {
  readonly target: { readonly host: string; readonly port: number };
  readonly path: string;
} {
  const { hostname, port, pathname, search } = new URL(url);
  return { target: { host: hostname, port: Number(port) }, path: `${pathname}${search}` };
}
