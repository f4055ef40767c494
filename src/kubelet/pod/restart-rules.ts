import type { Container, ContainerRestartRule, PodSpec } from '../../api/generated/core-v1.ts';

/** Whether an init container keeps running beside the main containers. */
export function isSidecar(container: Container): boolean {
  return container.restartPolicy === 'Always';
}

/** Whether a container that exited with `exitCode` is restarted while its pod runs. */
export function restartsAfter(container: Container, spec: PodSpec, exitCode: number): boolean {
  if (container.restartPolicy !== undefined) {
    const rule = matchingRule(container, exitCode);
    if (rule?.action === 'Restart' || rule?.action === 'RestartAllContainers') return true;
  }
  const policy = container.restartPolicy ?? spec.restartPolicy ?? 'Always';
  return policy === 'OnFailure' ? exitCode !== 0 : policy !== 'Never';
}

/** Whether the exit of this container with `exitCode` restarts all containers of the pod. */
export function restartsAllAfter(container: Container, exitCode: number): boolean {
  return matchingRule(container, exitCode)?.action === 'RestartAllContainers';
}

/** Whether any container of the pod has a `RestartAllContainers` rule. */
export function mayRestartAllContainers({ initContainers = [], containers }: PodSpec): boolean {
  const rules = [...initContainers, ...containers].flatMap(({ restartPolicyRules = [] }) => restartPolicyRules);
  return rules.some(({ action }) => action === 'RestartAllContainers');
}

/** The first rule that matches. */
function matchingRule({ restartPolicyRules }: Container, exitCode: number): ContainerRestartRule | undefined {
  return restartPolicyRules?.find((rule) => matches(rule, exitCode));
}

function matches({ exitCodes }: ContainerRestartRule, exitCode: number): boolean {
  const isListed = exitCodes?.values?.includes(exitCode) ?? false;
  if (exitCodes?.operator === 'In') return isListed;
  return exitCodes?.operator === 'NotIn' && !isListed;
}
