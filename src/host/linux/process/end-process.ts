import { flushCompileCache } from 'node:module';
import process from 'node:process';

/**
 * Ends the process at once. `process.exit` joins Node's threads first, and would wait for ever for one that hangs in the
 * kernel, on a mount that does not answer for example; _exit(2) does not.
 */
export async function endProcess(exitCode: number): Promise<never> {
  const { exitNow } = await import('../sys/process-calls.ts');
  flushCompileCache();
  exitNow(exitCode);
  return process.exit(exitCode);
}
