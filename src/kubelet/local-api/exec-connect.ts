import { type Network, NetworkError } from '../../host/network.ts';
import type { ExecConnection } from './exec-connection.ts';
import { execOverSpdy, spdyUpgrade } from './exec-over-spdy.ts';
import { execOverWebSocket } from './exec-over-web-socket.ts';
import { EXEC_PROTOCOL } from './exec-protocol.ts';

export interface ExecRequest {
  /** Keys of a terminal, whose end nobody waits for; or bytes, whose end the command has to be told. */
  readonly input: 'none' | 'keys' | 'bytes';
  readonly tty: boolean;
}

/**
 * Starts the command that `address` stands for: by WebSocket, or by SPDY where that cannot say what has to be said (containerd
 * before 2.0 has no v5). An address is good for one attempt only, so each attempt asks for its own.
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
