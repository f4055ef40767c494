import { collectText } from '../../base/byte-chunks.ts';
import { type ByteStream, NetworkError, type UpgradedConnection, type UpgradeRequest } from '../../host/network.ts';
import { openSpdySession } from '../../streams/spdy/open-spdy-session.ts';
import type { SpdyStream } from '../../streams/spdy/spdy-session.ts';
import type { ExecConnection, ExecOutput } from './exec-connection.ts';
import { CONNECTION_LOST, decodeExecEnd, EXEC_PROTOCOL, type ExecEnd, encodeSize } from './exec-protocol.ts';

const PROTOCOL_HEADER = 'X-Stream-Protocol-Version';

/** The upgrade request to the runtime. */
export function spdyUpgrade({ target, path }: Pick<UpgradeRequest, 'target' | 'path'>): UpgradeRequest {
  return { target, path, method: 'POST', upgrade: 'SPDY/3.1', headers: [[PROTOCOL_HEADER, EXEC_PROTOCOL.v4]] };
}

/** Resolves when all streams are open: the runtime starts the command then. */
export async function execOverSpdy(
  { headers, stream }: UpgradedConnection,
  { stdin, tty }: { readonly stdin: boolean; readonly tty: boolean },
  signal: AbortSignal,
): Promise<ExecConnection> {
  const protocol = headers[PROTOCOL_HEADER.toLowerCase()];
  if (protocol !== EXEC_PROTOCOL.v4) {
    stream.close();
    throw new NetworkError('EPROTO', `the runtime does not speak ${EXEC_PROTOCOL.v4}`);
  }
  const open = openerOf(stream, signal);
  const [end, input, out, err, sizes] = await Promise.all([
    open('error'),
    stdin ? open('stdin') : undefined,
    open('stdout'),
    tty ? undefined : open('stderr'), // a terminal has one output only
    tty ? open('resize') : undefined,
  ]);
  return {
    receive: (output) => receive({ end, out, err }, output),
    stdin: async (data) => input?.write(data),
    endStdin: async () => input?.end(),
    resize: async (size) => sizes?.write(encodeSize(size)),
  };
}

function openerOf(stream: ByteStream, signal: AbortSignal): (type: string) => Promise<SpdyStream> {
  const session = openSpdySession(stream, 'client');
  return (type) => session.open({ streamtype: [type] }, signal);
}

interface Outputs {
  readonly end: SpdyStream;
  readonly out: SpdyStream;
  readonly err: SpdyStream | undefined;
}

async function receive({ end, out, err }: Outputs, output: ExecOutput): Promise<ExecEnd> {
  const [status] = await Promise.all([
    collectText(end.chunks),
    forward(out, (data) => output.stdout(data)),
    err && forward(err, (data) => output.stderr(data)),
  ]);
  return status === '' ? CONNECTION_LOST : decodeExecEnd(status);
}

async function forward({ chunks }: SpdyStream, take: (data: Uint8Array) => Promise<void>): Promise<void> {
  for await (const chunk of chunks) await take(chunk);
}
