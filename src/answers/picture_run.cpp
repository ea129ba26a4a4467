#include "answers/picture_run.h"

#include <algorithm>
#include <span>
#include <utility>

namespace kinglet {
namespace {

// The checksum of the first rows. It depends on the whole picture and on what reads it.
uint64_t checksum_of(std::span<const ImagePart> parts) {
  const auto rows = std::find_if(parts.begin(), parts.end(),
                                 [](const ImagePart& part) { return !part.is_text(); });
  return rows == parts.end() ? 0 : rows->image.checksum;
}

size_t bytes_of(std::span<const ImagePart> parts) {
  size_t n = 0;
  for (const ImagePart& part : parts) n += part.image.rows.size() * sizeof(float);
  return n;
}

}  // namespace

Status PictureRun::begin() {
  KINGLET_ASSIGN(reader_, ImageReader::create(*model_, pool_));
  const Picture picture = std::move(jobs_.front().picture);
  return reader_->begin(picture.view(), jobs_.front().cancellation);
}

// Gives the job the kept result of an equal picture. Returns false if there is none.
bool PictureRun::find_remembered() {
  const uint64_t checksum = checksum_of(reader_->parts());
  const auto known =
      std::find_if(remembered_.begin(), remembered_.end(),
                   [&](const PictureParts& parts) { return checksum_of(*parts) == checksum; });
  if (known == remembered_.end()) return false;
  PictureParts parts = std::move(*known);
  remembered_.erase(known);
  remembered_.push_front(parts);
  finish(std::move(parts));
  return true;
}

void PictureRun::advance() {
  if (!reader_) {
    if (const Status status = begin(); !status.ok()) return finish(status.error());
    if (find_remembered()) return;
  }
  if (const Status status = reader_->advance(); !status.ok()) return finish(status.error());
  if (reader_->n_left() > 0) return;
  const auto parts = std::make_shared<const std::vector<ImagePart>>(reader_->take_parts());
  ++n_computed_;
  remember(parts);
  finish(parts);
}

// Keeps the parts, and drops those that were not used for longest if there are too many.
void PictureRun::remember(PictureParts parts) {
  remembered_.push_front(std::move(parts));
  size_t n_bytes = 0;
  for (const PictureParts& each : remembered_) n_bytes += bytes_of(*each);
  for (; n_bytes > kMostKept; remembered_.pop_back()) n_bytes -= bytes_of(*remembered_.back());
}

void PictureRun::abandon(const Error& error) {
  while (is_busy()) finish(error);
}

void PictureRun::finish(Result<PictureParts> result) {
  reader_.reset();
  jobs_.front().deliver(std::move(result));
  jobs_.pop_front();
}

}  // namespace kinglet
