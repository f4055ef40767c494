import { failedPrecondition, invalidField } from '../../cri/field-error.ts';
import type { ContainerConfig } from '../../cri/generated/runtime-v1.ts';
import type { CdiEdits, CdiSpec } from './cdi-spec.ts';

const ANNOTATION_PREFIX = 'cdi.k8s.io/';

/** A specification with its priority: of two that define a device, the one from the later directory wins. */
export interface RankedCdiSpec {
  readonly path: string;
  readonly priority: number;
  readonly spec: CdiSpec;
}

/** All loaded specifications. */
export interface CdiSpecs {
  readonly specs: readonly RankedCdiSpec[];
  /** Errors of files that could not be loaded. */
  readonly errors: readonly string[];
}

/** Requested devices (`vendor.com/class=name`) without duplicates: from the field, then from legacy annotations. */
export function requestedCdiDevices({ CDIDevices, annotations }: ContainerConfig): string[] {
  const named = CDIDevices.map(({ name }) => name);
  const annotated = Object.entries(annotations)
    .filter(([key]) => key.startsWith(ANNOTATION_PREFIX))
    .flatMap(([, value]) => value.split(','));
  return [...new Set([...named, ...annotated])];
}

/**
 * The edits of each device, preceded once by those of its specification. Throws for a device that no specification defines,
 * or that two specifications of one directory define.
 */
export function cdiEditsFor(devices: readonly string[], { specs, errors }: CdiSpecs): CdiEdits[] {
  const used = new Set<RankedCdiSpec>();
  return devices.flatMap((qualified) => {
    const [kind = '', name = '', ...rest] = qualified.split('=');
    if (kind === '' || name === '' || rest.length > 0) {
      throw invalidField('CDI_devices', `${JSON.stringify(qualified)} is not of the form vendor/class=device`);
    }
    const found = findSpec(qualified, { kind, name }, { specs, errors });
    const edits = found.spec.devices.get(name);
    const common = used.has(found) ? [] : [found.spec.edits];
    used.add(found);
    return edits === undefined ? common : [...common, edits];
  });
}

function findSpec(
  qualified: string,
  { kind, name }: { readonly kind: string; readonly name: string },
  { specs, errors }: CdiSpecs,
): RankedCdiSpec {
  const matching = specs.filter(({ spec }) => spec.kind === kind && spec.devices.has(name));
  const highest = Math.max(...matching.map(({ priority }) => priority));
  const [first, second] = matching.filter(({ priority }) => priority === highest);
  if (first === undefined)
    throw invalidField('CDI_devices', [`unresolvable CDI device ${qualified}`, ...errors].join('; '));
  if (second === undefined) return first;
  const why = `CDI device ${qualified} is defined in ${first.path} and in ${second.path}`;
  throw failedPrecondition('CDI_devices', why);
}
