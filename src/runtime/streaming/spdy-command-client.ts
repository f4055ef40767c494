import type { Clock } from '../../host/clock.ts';
import { Inbox } from '../../streams/inbox.ts';
import type { SpdySession, SpdyStream } from '../../streams/spdy/spdy-session.ts';
import type { CommandClient, CommandStreams } from './command-client.ts';
import { outcomeText } from './command-outcome.ts';
import { discard } from './discard.ts';
import type { SpdyCommandProtocol } from './protocols.ts';
import { type TerminalSize, TerminalSizeParser } from './terminal-size-parser.ts';

/** Time limit for a client to open its streams. */
const STREAM_CREATION_MS = 30_000;

type StreamType = 'error' | 'stdin' | 'stdout' | 'stderr' | 'resize';
type CommandSpdyStreams = ReadonlyMap<StreamType, SpdyStream>;

/** Resolves when the client has opened all its streams. Otherwise closes the session and rejects. */
export async function openSpdyCommandClient(
  session: SpdySession,
  wanted: CommandStreams,
  protocol: SpdyCommandProtocol,
  clock: Pick<Clock, 'sleep'>,
): Promise<CommandClient> {
  const ready = new AbortController();
  const late = clock.sleep(STREAM_CREATION_MS, ready.signal).then(() => {
    throw new Error('timed out waiting for client to create streams');
  });
  late.catch(() => {}); // not awaited once the streams are open
  try {
    const streams = await Promise.race([waitForStreams(session, expectedTypes(wanted, protocol)), late]);
    return createClient(session, streams, protocol);
  } catch (error) {
    void session.close();
    throw error;
  } finally {
    ready.abort();
  }
}

function expectedTypes({ stdin, stdout, stderr, tty }: CommandStreams, { hasResize }: SpdyCommandProtocol) {
  const types: StreamType[] = ['error'];
  if (stdin) types.push('stdin');
  if (stdout) types.push('stdout');
  if (stderr) types.push('stderr');
  if (tty && hasResize) types.push('resize');
  return new Set<string>(types);
}

/** Resets all other streams, also later ones. Rejects if the client leaves before it has opened all. */
function waitForStreams(session: SpdySession, expected: ReadonlySet<string>): Promise<CommandSpdyStreams> {
  const { promise, resolve, reject } = Promise.withResolvers<CommandSpdyStreams>();
  const found = new Map<StreamType, SpdyStream>();
  const collect = async (): Promise<never> => {
    for await (const stream of session.incoming) {
      const type = parseStreamType(stream);
      if (type === undefined || !expected.has(type) || found.has(type)) {
        void stream.reset();
        continue;
      }
      found.set(type, stream);
      if (found.size === expected.size) resolve(found);
    }
    throw new Error('the client is gone');
  };
  collect().catch(reject);
  return promise;
}

function parseStreamType({ headers }: SpdyStream): StreamType | undefined {
  const type = headers['streamtype']?.[0];
  return type === 'error' || type === 'stdin' || type === 'stdout' || type === 'stderr' || type === 'resize'
    ? type
    : undefined;
}

function createClient(session: SpdySession, streams: CommandSpdyStreams, protocol: SpdyCommandProtocol): CommandClient {
  const [error, stdout, stderr] = [streams.get('error'), streams.get('stdout'), streams.get('stderr')];
  for (const stream of [error, stdout, stderr]) if (stream) void discard(stream.chunks);
  return {
    stdin: streams.get('stdin')?.chunks ?? emptyStream(),
    resizes: readSizes(streams.get('resize')),
    stdout: async (data) => stdout?.write(data),
    stderr: async (data) => stderr?.write(data),
    finish: async (outcome) => {
      await Promise.all([stdout?.end(), stderr?.end()]);
      const text = outcomeText(outcome, protocol.outcome);
      if (text !== '') await error?.write(Buffer.from(text));
      await error?.end();
      await session.close();
    },
    close: () => void session.close(),
    gone: session.closed,
  };
}

async function* emptyStream(): AsyncGenerator<Uint8Array> {}

/** Read at once: unread sizes must not block the other streams. */
function readSizes(stream: SpdyStream | undefined): AsyncIterable<TerminalSize> {
  const newest = new Inbox<TerminalSize>({ keep: 'newest' });
  const read = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
    const sizes = new TerminalSizeParser();
    for await (const chunk of chunks) for (const size of sizes.push(chunk)) newest.put(size);
  };
  void read(stream?.chunks ?? emptyStream())
    .catch(() => {})
    .finally(() => newest.end());
  return newest;
}
