import { bundleFiles } from './bundle-files.ts';
import type { OciDeps } from './oci-deps.ts';
import type { Monitored } from './oci-runtime.ts';

type Places = Pick<OciDeps, 'program' | 'stateRoot' | 'exits' | 'sockets'>;

/**
 * How conmon is started for a container. `hasOwnUsers`: it is in a user namespace. There crun makes its user the owner of
 * its streams, and its input would be the node's `/dev/null`, which it could then take away from everybody.
 */
export function monitorArgs(container: Monitored, places: Places, hasOwnUsers: boolean): readonly string[] {
  const { program, stateRoot, exits, sockets } = places;
  const { id, bundle, logPath, terminal, stdin, stdinOnce } = container;
  const files = bundleFiles(container);
  return [
    ...['--api-version', '1'],
    ...['-c', id, '-u', id, '-n', id],
    ...(hasOwnUsers && !stdin ? withEndedInput(program) : ['-r', program]),
    `--runtime-arg=--root=${stateRoot}`,
    ...['-b', bundle, '-p', files.pid, '--conmon-pidfile', files.monitorPid],
    ...['--exit-dir', exits, '--socket-dir-path', sockets, '--full-attach'],
    // The output is as durable as any file; conmon would wait for the disk at the container's end.
    ...['-l', logPath === undefined ? 'none' : `k8s-file:${logPath}`, '--no-sync-log'],
    ...(terminal ? ['-t'] : []),
    ...(stdin ? ['-i'] : []),
    ...(stdin && !stdinOnce ? ['--leave-stdin-open'] : []),
  ];
}

/** conmon knows no input but `/dev/null` and a pipe that stays open. */
function withEndedInput(program: string): readonly string[] {
  return ['-r', '/bin/sh', '--runtime-arg=-c', '--runtime-arg=: | "$0" "$@"', `--runtime-arg=${program}`];
}

/** The log file of a running conmon, from its arguments. */
export function logPathOf(args: readonly string[]): string | undefined {
  const driver = args[args.indexOf('-l') + 1] ?? '';
  return driver.startsWith('k8s-file:') ? driver.slice('k8s-file:'.length) : undefined;
}
