// What check.mjs asks feedgate itself. The server must sign tokens with the
// secret in FEEDGATE_AUTH_SECRET, as this file does.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { ask } from './clients.mjs'
import { events } from './tools.mjs'

const url = process.argv[2]
const part = value => Buffer.from(JSON.stringify(value)).toString('base64url')

// Tokens hold five seconds longer than they say: clocks may differ.
const leeway = 5

function token (user, seconds, secret = process.env.FEEDGATE_AUTH_SECRET) {
  const now = Math.floor(Date.now() / 1000)
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ iss: 'feedgate', sub: String(user), iat: now, exp: now + seconds - leeway })}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

const person = user => {
  const bearer = `Bearer ${token(user, 3600)}`
  return { init: { authorization: bearer }, headers: { authorization: bearer } }
}
const forged = `Bearer ${token(1, 3600, 'another secret that nobody here has chosen')}`

export const good = person(1)
export const author = person(2)
export const bad = { init: { authorization: forged }, headers: { authorization: forged } }
export const badReason = /this token does not hold/
export const shortLived = () => ({ init: { token: token(1, 2) } })

const reader = await ask(url, good, 'mutation { createUser(input: {handle: "alder"}) { user { id } } }')
const heron = await ask(url, author, 'mutation { createUser(input: {handle: "heron"}) { user { id } } }')
const readerId = reader.createUser.user.id
await ask(url, good, `mutation { followUser(input: {userId: "${heron.createUser.user.id}"}) { user { id } } }`)

export const subscription = 'subscription { redDot { feedCount newestPost { text author { handle } } noticeCount changedAt } }'
export const read = ({ redDot }) => ({ number: Number(redDot.newestPost?.text ?? 0), count: redDot.feedCount })
export const publish = n => `mutation { publishPost(input: {text: "${n}"}) { post { id } } }`
export const seen = 'mutation { markFeedSeen { redDot { feedCount } } }'

const quickly = { attempts: 3, pause: 20 }

// A notice is told once to each subscription, and in order.
async function noticeAdded (subscribe, through) {
  const sink = events()
  const end = subscribe(through, good, 'subscription { noticeAdded { kind actorCount actors { handle } post { text } } }', sink, quickly)
  let n = 0
  const mention = () => ask(url, author, `mutation { publishPost(input: {text: "@alder ${++n}"}) { post { id } } }`)
  const told = i => ({ noticeAdded: { kind: 'MENTIONED', actorCount: 1, actors: [{ handle: 'heron' }], post: { text: `@alder ${i}` } } })
  // Nothing says that the subscription has begun, but its first event.
  while (sink.pending.length === 0 && n < 100) {
    await mention()
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  await sink.until(`notice ${n}`, value => { assert.ok(value.noticeAdded.post); return value.noticeAdded.post.text === `@alder ${n}` })
  for (let i = 0; i < 5; i++) {
    await mention()
    assert.deepEqual(plain(await sink.take(`notice ${n}`)), { value: told(n) })
  }
  await end()
}

// A delivery is told from wherever it stands to its end, and the stream ends with it.
async function deliveryProgress (subscribe, through) {
  const sink = events()
  const { publishPost } = await ask(url, author, publish(0))
  const end = subscribe(through, author, `subscription { deliveryProgress(postId: "${publishPost.post.id}") { state total delivered } }`, sink, quickly)
  const states = []
  for (;;) {
    const event = plain(await sink.take('the end of a delivery'))
    if (event.complete) break
    if (event.error) throw event.error
    states.push(event.value.deliveryProgress)
  }
  assert.deepEqual(states.at(-1), { state: 'DONE', total: 1, delivered: 1 })
  assert.equal(new Set(states.map(state => JSON.stringify(state))).size, states.length, 'the same state twice')
  await end()
}

// An error within a stream comes with its code, and ends nothing else.
async function strangers (subscribe, through) {
  const sink = events()
  const { publishPost } = await ask(url, author, publish(0))
  const end = subscribe(through, good, `subscription { deliveryProgress(postId: "${publishPost.post.id}") { state } }`, sink, { attempts: 0 })
  const { error, value } = await sink.take('the refusal')
  assert.ok(error, `a stranger saw ${JSON.stringify(value)}`)
  await end()
}

// Clients add members of their own, and prototypes.
const plain = event => event.error ? event : JSON.parse(JSON.stringify(event, (key, value) => key === '__typename' ? undefined : value))

export const others = { noticeAdded, deliveryProgress, strangers }
export const about = `reader ${readerId}`
