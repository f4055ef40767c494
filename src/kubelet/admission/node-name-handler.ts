import { type PodAdmitHandler, predicateFailed } from './pod-admit-handler.ts';

/** Rejects pods that are bound to another node. */
export const nodeNameHandler: PodAdmitHandler = ({ spec }, { nodeName }) => {
  const matches = !spec.nodeName || spec.nodeName === nodeName;
  return matches ? undefined : predicateFailed('NodeName', "node(s) didn't match the requested node name");
};
