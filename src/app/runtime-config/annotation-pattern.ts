import { isPathPattern } from '../../base/go/path-match.ts';
import { CRUN_PREFIX } from '../../runtime/settings/crun-annotations.ts';

/** Why a pattern of annotation names (Go's `path.Match`) is refused; `undefined` if it is not. */
export function annotationPatternError(pattern: string): string | undefined {
  if (pattern === '') return 'must not be empty';
  if (!isPathPattern(pattern)) return `${JSON.stringify(pattern)}: syntax error in pattern`;
  if (!pattern.startsWith(CRUN_PREFIX)) return undefined;
  return `${JSON.stringify(pattern)}: annotations of crun (${CRUN_PREFIX}*) can disable seccomp and are never passed on`;
}
