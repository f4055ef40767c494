import type { Server } from 'node:net';
import { linuxClock } from '../process/linux-clock.ts';

/** A process without free descriptors fails to accept many connections in a second. */
const REPORT_EVERY_MS = 10_000;

/**
 * Keeps the process alive when a listening server fails to accept a connection (`EMFILE`, `ENOBUFS`), which Node.js reports
 * as an error of the server. The server continues to listen; Node.js writes the warning to the standard error.
 */
export function reportServerErrors(server: Server, address: string): void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  server.on('error', (error) => {
    const now = linuxClock.monotonic();
    if (now - reportedAt < REPORT_EVERY_MS) return;
    reportedAt = now;
    process.emitWarning(`cannot accept a connection at ${address}: ${error.message}`, 'ServerWarning');
  });
}
