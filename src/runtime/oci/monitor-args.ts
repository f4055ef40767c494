import { bundleFiles } from './bundle-files.ts';
import type { OciDeps } from './oci-deps.ts';
import type { MonitoredContainer } from './oci-runtime.ts';

type Paths = Pick<OciDeps, 'program' | 'stateRoot' | 'exits' | 'sockets'>;

export interface MonitorTraits {
  /**
   * The container is in a user namespace. There crun changes the owner of its streams to the container's user; with
   * `/dev/null` as input, the container could take over the node's `/dev/null`.
   */
  readonly hasOwnUsers: boolean;
  /** systemd creates its cgroup. */
  readonly isScope: boolean;
}

/** Returns conmon's arguments for a container. */
export function monitorArgs(
  container: MonitoredContainer,
  paths: Paths,
  { hasOwnUsers, isScope }: MonitorTraits,
): readonly string[] {
  const { program, stateRoot, exits, sockets } = paths;
  const { id, bundle, logPath, terminal, stdin, stdinOnce } = container;
  const files = bundleFiles(container);
  return [
    ...['--api-version', '1'],
    ...['-c', id, '-u', id, '-n', id],
    ...(hasOwnUsers && !stdin ? withClosedInput(program) : ['-r', program]),
    `--runtime-arg=--root=${stateRoot}`,
    ...['-b', bundle, '-p', files.pid, '--conmon-pidfile', files.monitorPid],
    ...['--exit-dir', exits, '--socket-dir-path', sockets, '--full-attach'],
    // The log need not be synced; conmon would wait for the disk at the container's exit.
    ...['-l', logPath === undefined ? 'none' : `k8s-file:${logPath}`, '--no-sync-log'],
    ...(isScope ? ['-s'] : []),
    ...(terminal ? ['-t'] : []),
    ...(stdin ? ['-i'] : []),
    ...(stdin && !stdinOnce ? ['--leave-stdin-open'] : []),
  ];
}

/** conmon supports only `/dev/null` and a pipe that stays open as input. */
function withClosedInput(program: string): readonly string[] {
  return ['-r', '/bin/sh', '--runtime-arg=-c', '--runtime-arg=: | "$0" "$@"', `--runtime-arg=${program}`];
}

/** Returns the log file of a running conmon, from its arguments. */
export function monitorLogPath(args: readonly string[]): string | undefined {
  const driver = args[args.indexOf('-l') + 1] ?? '';
  return driver.startsWith('k8s-file:') ? driver.slice('k8s-file:'.length) : undefined;
}
