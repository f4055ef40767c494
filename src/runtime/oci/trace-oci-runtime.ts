import { traceWork, type WorkFacts } from '../../base/trace-work.ts';
import type { OciRuntime } from './oci-runtime.ts';

/** The OCI runtime with containerd's spans. Those of a start are in start-container.ts. */
export function traceOciRuntime(runtime: OciRuntime): OciRuntime {
  const task = (verb: string, id: string, more: WorkFacts = {}) => ({
    name: `client.task.${verb}`,
    facts: { 'task.id': id, 'task.runtime.name': runtime.program, ...more },
  });
  return {
    ...runtime,
    kill: (container, signalNumber, options) =>
      traceWork(
        () => task('Kill', container.id, { signal: signalNumber, 'task.exec.killall': options?.all ?? false }),
        () => runtime.kill(container, signalNumber, options),
      ),
    remove: (container, signal) =>
      traceWork(
        () => task('Delete', container.id),
        () => runtime.remove(container, signal),
      ),
    execSync: (container, exec, signal) =>
      traceWork(
        () => task('Exec', container.id),
        () => runtime.execSync(container, exec, signal),
      ),
  };
}
