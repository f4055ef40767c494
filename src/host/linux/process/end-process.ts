// Older releases of Node.js have no `flushCompileCache`: a named import would fail before the version check can report it.
import * as nodeModule from 'node:module';
import process from 'node:process';

/**
 * Ends the process at once by _exit(2). `process.exit` joins Node's threads first, and would wait forever for one that hangs
 * in the kernel, for example on an unresponsive mount.
 */
export async function endProcess(exitCode: number): Promise<never> {
  const { exitNow } = await import('../sys/process-calls.ts');
  nodeModule.flushCompileCache();
  exitNow(exitCode);
  return process.exit(exitCode);
}
