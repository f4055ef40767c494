import type { Taint, Toleration } from '../../api/generated/core-v1.ts';
import { isStaticPod } from '../../api/pod-names.ts';
import type { Predicate } from './pod-admit-handler.ts';

/** Pods that do not tolerate a taint with the effect `NoExecute` do not fit. Static pods run with any taint. */
export const taintPredicate: Predicate = (pod, { taints = [], gates = {} }) => {
  if (isStaticPod(pod)) return [];
  const tolerations = pod.spec.tolerations ?? [];
  const compares = gates.taintTolerationComparisonOperators ?? false;
  const isUntolerated = taints
    .filter(({ effect }) => effect === 'NoExecute')
    .some((taint) => !tolerations.some((toleration) => tolerates(toleration, taint, compares)));
  if (!isUntolerated) return [];
  const description = "node(s) had taints that the pod didn't tolerate";
  return [{ kind: 'predicate', name: 'TaintToleration', description }];
};

/** `compares`: the operators `Lt` and `Gt` compare integers; otherwise they never match. */
function tolerates({ effect, key, operator, value = '' }: Toleration, taint: Taint, compares: boolean): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  switch (operator) {
    case undefined:
    case '':
    case 'Equal':
      return value === (taint.value ?? '');
    case 'Exists':
      return true;
    case 'Lt':
    case 'Gt':
      return compares && isOrdered(taint.value ?? '', operator, value);
    default:
      return false;
  }
}

const INT64 = /^-?(0|[1-9][0-9]*)$/;

/** Compares the value of the taint with the value of the toleration; text that is not an int64 never matches. */
function isOrdered(taint: string, operator: 'Lt' | 'Gt', toleration: string): boolean {
  if (!isInt64(taint) || !isInt64(toleration)) return false;
  return operator === 'Lt' ? BigInt(taint) < BigInt(toleration) : BigInt(taint) > BigInt(toleration);
}

function isInt64(text: string): boolean {
  return INT64.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}
