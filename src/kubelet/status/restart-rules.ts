import type { Container, ContainerRestartRule, PodSpec } from '../../api/generated/core-v1.ts';

/** An init container that stays beside the others instead of ending before them. */
export function isSidecar(container: Container): boolean {
  return container.restartPolicy === 'Always';
}

/** Whether a container that ended with `exitCode` is to be started again, as long as its pod is to run. */
export function restartsAfter(container: Container, spec: PodSpec, exitCode: number): boolean {
  if (container.restartPolicy !== undefined) {
    const rule = container.restartPolicyRules?.find((candidate) => matches(candidate, exitCode));
    if (rule?.action === 'Restart' || rule?.action === 'RestartAllContainers') return true;
  }
  const policy = container.restartPolicy ?? spec.restartPolicy ?? 'Always';
  return policy === 'OnFailure' ? exitCode !== 0 : policy !== 'Never';
}

function matches({ exitCodes }: ContainerRestartRule, exitCode: number): boolean {
  const isListed = exitCodes?.values?.includes(exitCode) ?? false;
  if (exitCodes?.operator === 'In') return isListed;
  return exitCodes?.operator === 'NotIn' && !isListed;
}
