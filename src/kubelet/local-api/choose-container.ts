import type { Pod } from '../../api/generated/core-v1.ts';
import { ApiError } from './api-error.ts';

const DEFAULT_CONTAINER_ANNOTATION = 'kubectl.kubernetes.io/default-container';

export interface ChosenContainer {
  readonly name: string;
  /** Set when the container was chosen by default among several. */
  readonly note: string | undefined;
}

/** Chooses the container as `kubectl logs` and `kubectl exec` do; throws an `ApiError` for an unknown container. */
export function chooseContainer({ metadata, spec }: Pod, wanted: string | undefined): ChosenContainer {
  const names = spec.containers.map(({ name }) => name);
  const initNames = (spec.initContainers ?? []).map(({ name }) => name);
  const ephemeralNames = (spec.ephemeralContainers ?? []).map(({ name }) => name);
  const all = [
    ...names,
    ...initNames.map((name) => `${name} (init)`),
    ...ephemeralNames.map((name) => `${name} (ephem)`),
  ];
  if (wanted !== undefined) {
    if ([...names, ...initNames, ...ephemeralNames].includes(wanted)) return { name: wanted, note: undefined };
    throw new ApiError('NotFound', `container ${wanted} not found in pod ${metadata.name}; it has: ${all.join(', ')}`);
  }
  const annotated = metadata.annotations?.[DEFAULT_CONTAINER_ANNOTATION];
  if (annotated !== undefined && names.includes(annotated)) return { name: annotated, note: undefined };
  const [first] = names;
  if (first === undefined) throw new ApiError('BadRequest', `pod ${metadata.name} has no containers`);
  const note = all.length > 1 ? `Defaulted container "${first}" out of: ${all.join(', ')}` : undefined;
  return { name: first, note };
}
