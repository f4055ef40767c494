import type { Container, IntOrString } from '../../api/generated/core-v1.ts';

/** A port by its number, by the name that the container gives it, or by its number as a text. Throws kubelet's text. */
export function probePort(port: IntOrString, container: Container): number {
  const named = container.ports?.find(({ name }) => name !== undefined && name === port)?.containerPort;
  const number = named ?? Number(port);
  if (!Number.isInteger(number)) throw new Error(`strconv.Atoi: parsing ${JSON.stringify(port)}: invalid syntax`);
  if (number < 1 || number > 65535) throw new Error(`invalid port number: ${number}`);
  return number;
}
