import { basename } from 'node:path';

/** kubeadm and units of packages run a program of this name. */
const KUBELET = 'kubelet';

/**
 * The arguments of a process, without the name of its program. A program that is called by the name `kubelet`, through a
 * link, is `nodelet kubelet`. The name is in `argv0` for the single executable and in `argv[1]` for a script.
 */
export function commandArguments(argv: readonly string[], argv0: string): readonly string[] {
  const [, script = '', ...args] = argv;
  const isKubelet = [argv0, script].some((path) => basename(path) === KUBELET);
  return isKubelet ? [KUBELET, ...args] : args;
}
