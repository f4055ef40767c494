/** The folders of `nodelet run` below its `--root`. */

/** The agent's `--root-dir`, in kubelet's terms. */
export function agentDir(rootDir: string): string {
  return `${rootDir}/kubelet`;
}

/** The volumes of claims, which outlive pods and agents. */
export function claimVolumesDir(rootDir: string): string {
  return `${rootDir}/volumes`;
}
