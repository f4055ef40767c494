import type { Clock } from '../../host/clock.ts';
import type { ByteStream } from '../../host/network.ts';
import { openSpdySession } from '../../streams/spdy/open-spdy-session.ts';
import type { SpdySession } from '../../streams/spdy/spdy-session.ts';

/** Time limit for a client to close the connection after GOAWAY. */
const CLOSE_TIMEOUT_MS = 10_000;

/** A server-side SPDY session. After `close`, a client that neither reads nor disconnects is disconnected by the timeout. */
export function openClientSession(transport: ByteStream, clock: Pick<Clock, 'deadline'>): SpdySession {
  const session = openSpdySession(transport, 'server');
  let isClosing = false;
  return {
    incoming: session.incoming,
    open: (headers, signal) => session.open(headers, signal),
    closed: session.closed,
    close: () => {
      if (!isClosing)
        clock.deadline(CLOSE_TIMEOUT_MS).addEventListener('abort', () => transport.close(), { once: true });
      isClosing = true;
      return session.close();
    },
  };
}
