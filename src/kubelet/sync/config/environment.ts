import type { EnvVar } from '../../../api/generated/core-v1.ts';
import { expandEnv } from '../../../base/env-expand.ts';
import { type PodFieldContext, podFieldText } from './pod-field.ts';
import { type ResourceFieldContext, resourceFieldText } from './resource-field.ts';

export interface EnvironmentInput extends PodFieldContext, ResourceFieldContext {
  /** `KUBERNETES_SERVICE_HOST` and the like; the container's own variables win. */
  readonly serviceEnv: ReadonlyMap<string, string>;
}

/**
 * The variables of a container: its own in the order in which they are declared (a name that is declared twice keeps
 * its place and takes the later value), then those of services. A value may refer to services and to variables
 * declared before it. Throws kubelet's message for a source that cannot be resolved.
 */
export function containerEnvironment(input: EnvironmentInput): ReadonlyMap<string, string> {
  const { container, serviceEnv } = input;
  const own = new Map<string, string>();
  const lookup = (name: string) => own.get(name) ?? serviceEnv.get(name);
  for (const variable of container.env ?? []) {
    own.set(variable.name, variable.value ? expandEnv(variable.value, lookup) : sourceText(variable, input));
  }
  const remaining = [...serviceEnv].filter(([name]) => !own.has(name));
  return new Map([...own, ...remaining]);
}

function sourceText({ name, valueFrom }: EnvVar, input: EnvironmentInput): string {
  if (!valueFrom) return '';
  if (valueFrom.fieldRef) return podFieldText(valueFrom.fieldRef.fieldPath, input);
  if (valueFrom.resourceFieldRef) return resourceFieldText(valueFrom.resourceFieldRef, input);
  throw new Error(`cannot resolve the source of environment variable ${name}`);
}
