/** Owns how the clouds spell their refusals: where in an answer the kind and the words of an error are, and what kinds mean. */
import type { ProviderError } from "./Provider.ts"

type Reason = ProviderError["reason"]

/** AWS names them in camel case inside streams and in Pascal case outside; Google shouts. */
export const reasons: Readonly<Record<string, Reason>> = {
  throttlingException: "rate_limited",
  serviceQuotaExceededException: "rate_limited",
  modelNotReadyException: "overloaded",
  serviceUnavailableException: "overloaded",
  internalServerException: "server_error",
  modelErrorException: "server_error",
  modelStreamErrorException: "server_error",
  modelTimeoutException: "server_error",
  expiredTokenException: "unauthenticated",
  unrecognizedClientException: "unauthenticated",
  invalidSignatureException: "unauthenticated",
  missingAuthenticationTokenException: "unauthenticated",
  incompleteSignatureException: "unauthenticated",
  accessDeniedException: "forbidden",
  UNAUTHENTICATED: "unauthenticated",
  PERMISSION_DENIED: "forbidden",
  RESOURCE_EXHAUSTED: "rate_limited",
  UNAVAILABLE: "overloaded",
  INTERNAL: "server_error",
  DEADLINE_EXCEEDED: "server_error",
}

/** A cloud's way of saying that it has no such model, whatever the status. */
export const isUnknownModel = (message: string): boolean =>
  /provided model identifier is invalid|on-demand throughput isn|publisher model .*(not found|not servable)|model .* (is|was) not found|deployment .*(does not|doesn't) exist/i.test(
    message,
  )

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What an answer says about its error, in the words of whoever sent it. */
export const read = (
  body: unknown,
  headers: Headers | undefined,
): { readonly type?: string; readonly message?: string } => {
  // Google wraps the errors of streams into a list.
  const whole: unknown = Array.isArray(body) ? body[0] : body
  const outer = isRecord(whole) ? whole : {}
  const inner = isRecord(outer["error"]) ? outer["error"] : outer
  const message = [inner["message"], outer["message"], outer["Message"]].find((text) => typeof text === "string")
  const named = [inner["type"], headers?.get("x-amzn-errortype"), outer["__type"], inner["status"]]
  const type = named.find((name) => typeof name === "string" && name !== "")
  return {
    ...(typeof message === "string" && { message }),
    ...(typeof type === "string" && { type: spelled(type) }),
  }
}

/** `com.amazon.coral#ExpiredTokenException:http://…` → `expiredTokenException`; everything else as it is. */
const spelled = (type: string): string => {
  const [name = ""] = type.slice(type.lastIndexOf("#") + 1).split(":")
  return name.endsWith("Exception") ? name.charAt(0).toLowerCase() + name.slice(1) : type
}
