import { FileSystemError } from '../../host/file-system.ts';
import { bundleFiles } from './bundle-files.ts';
import { textUnlessGone } from './find-monitor.ts';
import type { OciDeps } from './oci-deps.ts';
import type { MonitoredName } from './oci-runtime.ts';
import type { OciSeccomp, OciSpec } from './oci-spec.ts';

/** Orders to crun. Among them are ways around a filter and to other programs: nobody but us gives any. */
const ORDERS = 'run.oci.';
/** A compiled filter in base64: crun takes it instead of compiling `linux.seccomp`. */
const READY_FILTER = `${ORDERS}seccomp_bpf_data`;

type ConfigDeps = Pick<OciDeps, 'fs' | 'crun'>;

/** What config.json says; `undefined` when there is none. */
export async function readSpec(container: MonitoredName, { fs }: Pick<OciDeps, 'fs'>): Promise<OciSpec | undefined> {
  const text = await textUnlessGone(bundleFiles(container).config, { fs });
  return text === '' ? undefined : (JSON.parse(text) as OciSpec); // our own, in a folder of our own
}

/** As somebody wrote it, without what a start puts in. */
export function withoutOrders(spec: OciSpec): OciSpec {
  const others = Object.entries(spec.annotations).filter(([name]) => !name.startsWith(ORDERS));
  if (others.length === Object.keys(spec.annotations).length) return spec;
  return { ...spec, annotations: Object.fromEntries(others) };
}

/** Puts the compiled filter into config.json where there is one. The section stays: without the one there is the other. */
export async function prepareConfig(container: MonitoredName, deps: ConfigDeps): Promise<OciSpec | undefined> {
  const found = await readSpec(container, deps);
  if (found === undefined) return undefined;
  const plain = withoutOrders(found);
  const seccomp = compilable(plain);
  const filter = seccomp && (await deps.crun?.filters.ready(seccomp));
  const spec = filter ? withFilter(plain, filter) : plain;
  if (spec !== found) {
    await deps.fs.writeReplacing(bundleFiles(container).config, JSON.stringify(spec), { mode: 0o600 });
  }
  return spec;
}

function withFilter(spec: OciSpec, filter: Uint8Array): OciSpec {
  return { ...spec, annotations: { ...spec.annotations, [READY_FILTER]: Buffer.from(filter).toString('base64') } };
}

/** Keeps the filter that crun has compiled for a container, before anything can remove that. */
export async function keepFilter(spec: OciSpec, compiledFile: string, { fs, crun }: ConfigDeps): Promise<void> {
  const seccomp = compilable(spec);
  if (crun === undefined || seccomp === undefined || READY_FILTER in spec.annotations) return;
  try {
    await crun.filters.keep(seccomp, await fs.readFile(compiledFile));
  } catch (error) {
    if (!(error instanceof FileSystemError)) throw error; // without it the next one takes as long
  }
}

/** One with a listener is made anew for each container. */
function compilable({ linux: { seccomp } }: OciSpec): OciSeccomp | undefined {
  return seccomp?.listenerPath === undefined ? seccomp : undefined;
}
