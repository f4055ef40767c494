import type { Container, IntOrString } from '../../api/generated/core-v1.ts';

/** Resolves a port given by number, by a name of the container's ports, or by a number as text. Throws kubelet's error. */
export function probePort(port: IntOrString, container: Container): number {
  const named = container.ports?.find(({ name }) => name !== undefined && name === port)?.containerPort;
  const number = named ?? Number(port);
  if (!Number.isInteger(number)) throw new Error(`strconv.Atoi: parsing ${JSON.stringify(port)}: invalid syntax`);
  if (number < 1 || number > 65535) throw new Error(`invalid port number: ${number}`);
  return number;
}
