import type { Predicate } from './pod-admit-handler.ts';

/** Pods that are bound to another node do not fit. */
export const nodeNamePredicate: Predicate = ({ spec }, { nodeName }) => {
  if (!spec.nodeName || spec.nodeName === nodeName) return [];
  return [{ kind: 'predicate', name: 'NodeName', description: "node(s) didn't match the requested node name" }];
};
