import { bundleFiles } from './bundle-files.ts';
import type { OciDeps } from './oci-deps.ts';
import type { Monitored } from './oci-runtime.ts';

type Places = Pick<OciDeps, 'program' | 'stateRoot' | 'exits' | 'sockets'>;

/** How conmon is started for a container. */
export function monitorArgs(container: Monitored, { program, stateRoot, exits, sockets }: Places): readonly string[] {
  const { id, bundle, logPath, terminal, stdin, stdinOnce } = container;
  const files = bundleFiles(container);
  return [
    ...['--api-version', '1'],
    ...['-c', id, '-u', id, '-n', id],
    ...['-r', program, `--runtime-arg=--root=${stateRoot}`],
    ...['-b', bundle, '-p', files.pid, '--conmon-pidfile', files.monitorPid],
    ...['--exit-dir', exits, '--socket-dir-path', sockets, '--full-attach'],
    // The output is as durable as any file; conmon would wait for the disk at the container's end.
    ...['-l', logPath === undefined ? 'none' : `k8s-file:${logPath}`, '--no-sync-log'],
    ...(terminal ? ['-t'] : []),
    ...(stdin ? ['-i'] : []),
    ...(stdin && !stdinOnce ? ['--leave-stdin-open'] : []),
  ];
}

/** The log file of a running conmon, from its arguments. */
export function logPathOf(args: readonly string[]): string | undefined {
  const driver = args[args.indexOf('-l') + 1] ?? '';
  return driver.startsWith('k8s-file:') ? driver.slice('k8s-file:'.length) : undefined;
}
