import { ImageNameError, parseImageName } from '../../base/image-name.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type {
  Container,
  ContainerPort,
  EnvVar,
  EphemeralContainer,
  HTTPGetAction,
  Lifecycle,
  LifecycleHandler,
  ObjectFieldSelector,
  Probe,
  ResourceFieldSelector,
} from '../generated/core-v1.ts';
import { milliRequirements } from './default-resources.ts';

export function defaultContainer(container: Container, hostNetwork: boolean): Container {
  return withContainerDefaults(container, hostNetwork);
}

/** Ephemeral containers have no ports of their own on the host network. */
export function defaultEphemeralContainer(container: EphemeralContainer): EphemeralContainer {
  return withContainerDefaults(container, false);
}

/** An image that names no fixed version is pulled each time; what is no image name at all is left to validation. */
export function defaultPullPolicy(image: string | undefined): string {
  try {
    return parseImageName(image ?? '').tag === 'latest' ? 'Always' : 'IfNotPresent';
  } catch (error) {
    if (!(error instanceof ImageNameError)) throw error;
    return 'IfNotPresent';
  }
}

interface References {
  readonly fieldRef?: ObjectFieldSelector | undefined;
  readonly resourceFieldRef?: ResourceFieldSelector | undefined;
}

/** References of a variable or of a file to the pod's own fields and resources. */
export function defaultReferences({ fieldRef, resourceFieldRef }: References): References {
  const divisor = resourceFieldRef?.divisor;
  return {
    ...(fieldRef && { fieldRef: { ...fieldRef, apiVersion: fieldRef.apiVersion || 'v1' } }),
    ...(resourceFieldRef &&
      divisor !== undefined && {
        resourceFieldRef: { ...resourceFieldRef, divisor: parseQuantity(divisor).toString() },
      }),
  };
}

function withContainerDefaults<T extends Container>(container: T, hostNetwork: boolean): T {
  const { ports, env, resources, livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  return {
    ...container,
    imagePullPolicy: container.imagePullPolicy || defaultPullPolicy(container.image),
    terminationMessagePath: container.terminationMessagePath || '/dev/termination-log',
    terminationMessagePolicy: container.terminationMessagePolicy || 'File',
    ...(ports && { ports: ports.map((port) => defaultPort(port, hostNetwork)) }),
    ...(env && { env: env.map(defaultEnv) }),
    ...(resources && { resources: milliRequirements(resources) }),
    ...(livenessProbe && { livenessProbe: defaultProbe(livenessProbe) }),
    ...(readinessProbe && { readinessProbe: defaultProbe(readinessProbe) }),
    ...(startupProbe && { startupProbe: defaultProbe(startupProbe) }),
    ...(lifecycle && { lifecycle: defaultLifecycle(lifecycle) }),
  };
}

function defaultPort(port: ContainerPort, hostNetwork: boolean): ContainerPort {
  return {
    ...port,
    protocol: port.protocol || 'TCP',
    ...(hostNetwork && { hostPort: port.hostPort || port.containerPort }),
  };
}

function defaultEnv(variable: EnvVar): EnvVar {
  const { valueFrom } = variable;
  if (!valueFrom) return variable;
  const { fileKeyRef } = valueFrom;
  return {
    ...variable,
    valueFrom: {
      ...valueFrom,
      ...defaultReferences(valueFrom),
      ...(fileKeyRef && { fileKeyRef: { ...fileKeyRef, optional: fileKeyRef.optional ?? false } }),
    },
  };
}

function defaultProbe(probe: Probe): Probe {
  const { httpGet, grpc } = probe;
  return {
    ...probe,
    timeoutSeconds: probe.timeoutSeconds || 1,
    periodSeconds: probe.periodSeconds || 10,
    successThreshold: probe.successThreshold || 1,
    failureThreshold: probe.failureThreshold || 3,
    ...(httpGet && { httpGet: defaultHttpGet(httpGet) }),
    ...(grpc && { grpc: { ...grpc, service: grpc.service ?? '' } }),
  };
}

function defaultLifecycle({ postStart, preStop, ...rest }: Lifecycle): Lifecycle {
  return {
    ...rest,
    ...(postStart && { postStart: defaultHook(postStart) }),
    ...(preStop && { preStop: defaultHook(preStop) }),
  };
}

function defaultHook(hook: LifecycleHandler): LifecycleHandler {
  return hook.httpGet ? { ...hook, httpGet: defaultHttpGet(hook.httpGet) } : hook;
}

function defaultHttpGet(httpGet: HTTPGetAction): HTTPGetAction {
  return { ...httpGet, path: httpGet.path || '/', scheme: httpGet.scheme || 'HTTP' };
}
