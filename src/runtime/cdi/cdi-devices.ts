import { invalidField, failedPrecondition } from '../../cri/field-error.ts';
import type { ContainerConfig } from '../../cri/generated/runtime-v1.ts';
import type { CdiEdits, CdiSpec } from './cdi-spec.ts';

const ANNOTATION_PREFIX = 'cdi.k8s.io/';

/** A specification and how much it counts: of two that know a device, the one of the later folder wins. */
export interface RankedCdiSpec {
  readonly path: string;
  readonly priority: number;
  readonly spec: CdiSpec;
}

/** All that there are. */
export interface CdiSpecs {
  readonly specs: readonly RankedCdiSpec[];
  /** Files that are left out, each with what is wrong with it. */
  readonly errors: readonly string[];
}

/** `vendor.com/class=name` of everything asked for, each once: the field first, then older annotations. */
export function requestedCdiDevices({ CDIDevices, annotations }: ContainerConfig): string[] {
  const named = CDIDevices.map(({ name }) => name);
  const annotated = Object.entries(annotations)
    .filter(([key]) => key.startsWith(ANNOTATION_PREFIX))
    .flatMap(([, value]) => value.split(','));
  return [...new Set([...named, ...annotated])];
}

/**
 * The edits of each device, before them once those of its whole specification. Rejects what no specification knows, and
 * what two of the same folder do.
 */
export function cdiEditsFor(devices: readonly string[], { specs, errors: faults }: CdiSpecs): CdiEdits[] {
  const used = new Set<RankedCdiSpec>();
  return devices.flatMap((qualified) => {
    const [kind = '', name = '', ...rest] = qualified.split('=');
    if (kind === '' || name === '' || rest.length > 0) {
      throw invalidField('CDI_devices', `${JSON.stringify(qualified)} is not of the form vendor/class=device`);
    }
    const found = findSpec(qualified, { kind, name }, { specs, errors: faults });
    const edits = found.spec.devices.get(name);
    const common = used.has(found) ? [] : [found.spec.edits];
    used.add(found);
    return edits === undefined ? common : [...common, edits];
  });
}

function findSpec(
  qualified: string,
  { kind, name }: { readonly kind: string; readonly name: string },
  { specs, errors: faults }: CdiSpecs,
): RankedCdiSpec {
  const knowing = specs.filter(({ spec }) => spec.kind === kind && spec.devices.has(name));
  const highest = Math.max(...knowing.map(({ priority }) => priority));
  const [first, second] = knowing.filter(({ priority }) => priority === highest);
  if (first === undefined)
    throw invalidField('CDI_devices', [`unresolvable CDI device ${qualified}`, ...faults].join('; '));
  if (second === undefined) return first;
  const why = `CDI device ${qualified} stands in ${first.path} and in ${second.path}`;
  throw failedPrecondition('CDI_devices', why);
}
