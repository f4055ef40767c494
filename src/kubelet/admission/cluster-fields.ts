import type { Pod } from '../../api/generated/core-v1.ts';

/** What a pod asks for that only an API server can give, by field path: of no use to a node that has none. */
export function clusterFields({ spec }: Pod): string[] {
  const tokens = (spec.volumes ?? []).flatMap(({ projected }, volume) =>
    (projected?.sources ?? []).flatMap(({ serviceAccountToken }, source) =>
      serviceAccountToken ? `spec.volumes[${volume}].projected.sources[${source}].serviceAccountToken` : [],
    ),
  );
  const gates = (spec.readinessGates ?? []).map((_, gate) => `spec.readinessGates[${gate}]`); // others open them there
  return [...tokens, ...gates];
}
