import type { Container, Pod } from '../../api/generated/core-v1.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Random } from '../../host/random.ts';
import { containerDirectory, hostsFilePath, podLogDirectory } from '../pod/pod-paths.ts';
import { hostNetworkHostsFile, podHostsFile } from '../sync/config/hosts-file.ts';
import { type ContainerFiles, needsHostsFile } from './container-mounts.ts';

export interface ContainerFilesDeps {
  readonly fs: FileSystem;
  readonly random: Random;
  readonly settings: {
    readonly rootDir: string;
    readonly podLogsDir: string;
    readonly clusterDomain: string;
  };
}

/**
 * Creates what a new container needs on the host: its directories, the pod's hosts file and an empty termination
 * message.
 */
export async function prepareContainerFiles(
  pod: Pod,
  container: Container,
  podIPs: readonly string[],
  deps: ContainerFilesDeps,
): Promise<ContainerFiles> {
  const { fs, settings } = deps;
  await fs.makeDirectory(`${podLogDirectory(settings.podLogsDir, pod)}/${container.name}`, 0o755);
  const hostsFile = needsHostsFile(pod, podIPs) ? await writeHostsFile(pod, podIPs, deps) : undefined;
  const terminationLog = container.terminationMessagePath ? await makeTerminationLog(pod, container, deps) : undefined;
  return { hostsFile, terminationLog };
}

async function writeHostsFile(
  pod: Pod,
  podIPs: readonly string[],
  { fs, settings }: ContainerFilesDeps,
): Promise<string> {
  const path = hostsFilePath(settings.rootDir, pod.metadata.uid);
  const text = pod.spec.hostNetwork
    ? hostNetworkHostsFile(pod, await fs.readText('/etc/hosts'))
    : podHostsFile(pod, podIPs, settings.clusterDomain);
  // Written in place: running containers have this file mounted and would keep the old one if it were replaced.
  await fs.writeFile(path, text, { mode: 0o644 });
  await fs.changeMode(path, 0o644);
  return path;
}

/** Each start gets its own file, so that the message of the previous one stays readable. */
async function makeTerminationLog(
  pod: Pod,
  container: Container,
  { fs, random, settings }: ContainerFilesDeps,
): Promise<string> {
  const folder = containerDirectory(settings.rootDir, pod.metadata.uid, container.name);
  const path = `${folder}/${Buffer.from(random.bytes(4)).toString('hex')}`;
  await fs.makeDirectory(folder, 0o750);
  await fs.writeFile(path, '', { mode: 0o666 });
  await fs.changeMode(path, 0o666); // independent of the umask: containers of any user write to it
  return path;
}
