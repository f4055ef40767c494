import { FileSystemError } from '../../host/file-system.ts';
import { CRUN_PREFIX, isCrunAnnotation } from '../settings/crun-annotations.ts';
import { bundleFiles } from './bundle-files.ts';
import { readIfExists } from './find-monitor.ts';
import type { OciDeps } from './oci-deps.ts';
import type { ContainerRef } from './oci-runtime.ts';
import type { OciSeccomp, OciSpec } from './oci-spec.ts';
import { isScopePath } from './scope-path.ts';

/** A compiled filter in base64: crun uses it instead of compiling `linux.seccomp`. */
const COMPILED_FILTER = `${CRUN_PREFIX}seccomp_bpf_data`;
/** The cgroup below a container's scope; empty: none. crun's default is `container`, other runtimes have none. */
const SCOPE_SUBGROUP = `${CRUN_PREFIX}systemd.subgroup`;

type ConfigDeps = Pick<OciDeps, 'fs' | 'crun'>;

/** Reads config.json; returns `undefined` if it is missing. */
export async function readSpec(container: ContainerRef, { fs }: Pick<OciDeps, 'fs'>): Promise<OciSpec | undefined> {
  const text = await readIfExists(bundleFiles(container).config, { fs });
  return text === '' ? undefined : (JSON.parse(text) as OciSpec); // written by this process, in a private directory
}

/** Returns the spec without annotations that control crun. */
export function withoutCrunAnnotations(spec: OciSpec): OciSpec {
  const others = Object.entries(spec.annotations).filter(([name]) => !isCrunAnnotation(name));
  if (others.length === Object.keys(spec.annotations).length) return spec;
  return { ...spec, annotations: Object.fromEntries(others) };
}

/**
 * Adds crun's annotations to config.json: the compiled filter if it is cached (the seccomp section stays, for use without
 * the cache), and that the processes of a scope are in the scope itself.
 */
export async function prepareConfig(container: ContainerRef, deps: ConfigDeps): Promise<OciSpec | undefined> {
  const found = await readSpec(container, deps);
  if (found === undefined) return undefined;
  const plain = withoutCrunAnnotations(found);
  const seccomp = cacheableSeccomp(plain);
  const filter = seccomp && (await deps.crun?.filters.get(seccomp));
  const spec = withAnnotations(plain, {
    ...(filter && { [COMPILED_FILTER]: Buffer.from(filter).toString('base64') }),
    ...(isScopePath(plain.linux.cgroupsPath) && { [SCOPE_SUBGROUP]: '' }),
  });
  if (spec !== found) {
    await deps.fs.writeReplacing(bundleFiles(container).config, JSON.stringify(spec), { mode: 0o600 });
  }
  return spec;
}

function withAnnotations(spec: OciSpec, added: OciSpec['annotations']): OciSpec {
  if (Object.keys(added).length === 0) return spec;
  return { ...spec, annotations: { ...spec.annotations, ...added } };
}

/** Caches the filter that crun compiled for a container, before the container can be removed. */
export async function cacheFilter(spec: OciSpec, compiledFile: string, { fs, crun }: ConfigDeps): Promise<void> {
  const seccomp = cacheableSeccomp(spec);
  if (crun === undefined || seccomp === undefined || COMPILED_FILTER in spec.annotations) return;
  try {
    await crun.filters.put(seccomp, await fs.readFile(compiledFile));
  } catch (error) {
    if (!(error instanceof FileSystemError)) throw error; // the next container compiles it again
  }
}

/** A filter with a listener is specific to each container. */
function cacheableSeccomp({ linux: { seccomp } }: OciSpec): OciSeccomp | undefined {
  return seccomp?.listenerPath === undefined ? seccomp : undefined;
}
