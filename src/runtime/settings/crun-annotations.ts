/**
 * Prefix of annotations that control crun. Some disable seccomp or run other programs: only this runtime may set them.
 */
export const CRUN_PREFIX = 'run.oci.';

export function isCrunAnnotation(name: string): boolean {
  return name.startsWith(CRUN_PREFIX);
}
