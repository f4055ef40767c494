import type { Clock } from '../host/clock.ts';
import type { ByteStream } from '../host/network.ts';

/** Time limit for a client to close the connection after the other side has ended the session. */
export const CLOSE_TIMEOUT_MS = 10_000;

/** Resolves when both sides have ended, one has failed, or the client stays after the server has ended. */
export async function copyBothWays(
  client: ByteStream,
  server: ByteStream,
  clock: Pick<Clock, 'deadline'>,
): Promise<void> {
  const output = copy(server, client);
  const input = copy(client, server);
  await output;
  clock.deadline(CLOSE_TIMEOUT_MS).addEventListener('abort', () => client.close(), { once: true });
  await input;
  client.close();
  server.close();
}

async function copy(from: ByteStream, to: ByteStream): Promise<void> {
  try {
    for await (const chunk of from.chunks) await to.write(chunk);
    to.end();
  } catch {
    // One side is gone: the other sees the end of its own connection.
    from.close();
    to.close();
  }
}
